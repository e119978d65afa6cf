"""Stepping through loops: the session and what it shows. It knows the runtime, and nothing of screens."""

from ..runtime.plugin_registry import register_plugins

# What models, runs, stops and sessions say of themselves by rooms that those of these classes do not know.
register_plugins(
    **{
        name: f"{__name__}.{place}"
        for name, place in {
            "explain": "describe.explain:explain_loops",
            "html": "frontends.notebook.html_repr:render_html",
            "widget": "frontends.notebook.api:widget",
            "record": "trace.session_recording:record_session",
            "extract": "reduce.repro.session_commands:extract_from_session",
            "repro": "reduce.repro.session_commands:repro_from_session",
        }.items()
    }
)
