"""MuJoCo: what was identified as MJCF, and the torque of MuJoCo's models on logs."""
