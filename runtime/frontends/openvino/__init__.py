"""The OpenVINO IR front end (v10 and v11)."""
