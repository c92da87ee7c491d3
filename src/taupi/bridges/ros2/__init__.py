"""ROS 2: an emitted ros2_control controller, or an online component as a node, as a package to build with colcon."""
