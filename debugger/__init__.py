"""The debugger core: sessions and their views. Depends on the runtime, not on any user interface."""

from ..runtime.lazy_function_registry import register_plugins

# Methods of models, runs, stops and sessions that live in packages those classes must not import, and what runs jobs.
register_plugins(
    **{
        name: f"{__name__}.{target}"
        for name, target in {
            "profile": "profiling.api:profile_model",
            "profile_session": "profiling.api:profile_session",
            "diagnose": "diagnostics.api:diagnose_model",
            "diagnose_session": "diagnostics.api:diagnose_session",
            "coverage": "coverage.api:measure",
            "coverage_session": "coverage.api:session_coverage",
            "precision": "precision.api:try_precision",
            "optimizations": "optimization.api:find_optimizations",
            "explain": "describe.explain:explain_loops",
            "html": "frontends.notebook.html_repr:render_html",
            "widget": "frontends.notebook.api:widget",
            "record": "trace.session_recording:record_session",
            "extract": "reduce.repro.session_extraction:extract_from_session",
            "repro": "reduce.repro.session_extraction:repro_from_session",
            "sweep_cases": "sweep.case_executor:CaseExecutor",
            "fuzz_rounds": "fuzz.executor:FuzzExecutor",
        }.items()
    }
)
