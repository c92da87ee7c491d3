"""How bounds are computed: functions of a robot on boxes of joint positions, norms of them, and branch and bound."""
