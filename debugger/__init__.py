"""Stepping through loops: the session and what it shows. It knows the runtime, and nothing of screens."""

from ..runtime.extensions import register

# What models, runs, stops and sessions say of themselves by rooms that those of these classes do not know.
register(
    **{
        name: f"{__name__}.{place}"
        for name, place in {
            "explain": "words.explain:explained",
            "html": "adapters.notebook.html:html",
            "widget": "adapters.notebook.stepper:widget",
            "record": "recording.record:record",
            "extract": "cut.from_session:extract_here",
            "repro": "cut.from_session:repro_here",
        }.items()
    }
)
