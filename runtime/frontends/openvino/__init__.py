"""OpenVINO IR (v10 and v11) -> Graph."""
