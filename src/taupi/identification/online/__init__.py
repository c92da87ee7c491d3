"""What runs beside a robot, sample by sample: friction that follows, torque from outside, parameters that are updated."""
