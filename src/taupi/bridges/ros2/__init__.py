"""ROS 2: an emitted controller behind ros2_control, or what runs beside a robot as a node, as a package to build with colcon."""
