"""Components that run beside a robot, sample by sample: friction tracking, external torque, parameter updates."""
