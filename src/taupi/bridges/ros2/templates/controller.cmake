cmake_minimum_required(VERSION 3.16)
project(@name@ C CXX)

set(CMAKE_C_STANDARD 99)
if(NOT CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 17)
endif()

find_package(ament_cmake REQUIRED)
find_package(controller_interface REQUIRED)
find_package(hardware_interface REQUIRED)
find_package(pluginlib REQUIRED)
find_package(rclcpp REQUIRED)
find_package(rclcpp_lifecycle REQUIRED)
find_package(realtime_tools REQUIRED)
find_package(trajectory_msgs REQUIRED)

add_library(${PROJECT_NAME} SHARED src/@name@_ros2_controller.cpp @sources@)
target_include_directories(${PROJECT_NAME} PRIVATE include)
target_link_libraries(${PROJECT_NAME}
  controller_interface::controller_interface
  hardware_interface::hardware_interface
  pluginlib::pluginlib
  rclcpp::rclcpp
  rclcpp_lifecycle::rclcpp_lifecycle
  realtime_tools::realtime_tools
  ${trajectory_msgs_TARGETS}
)
pluginlib_export_plugin_description_file(controller_interface @name@_plugin.xml)

install(TARGETS ${PROJECT_NAME} LIBRARY DESTINATION lib RUNTIME DESTINATION bin ARCHIVE DESTINATION lib)
install(DIRECTORY config DESTINATION share/${PROJECT_NAME})

if(BUILD_TESTING)
  add_executable(test_@name@ test/test_@name@.c @sources@)
  target_include_directories(test_@name@ PRIVATE include)
  target_link_libraries(test_@name@ m)
  add_test(NAME @name@_agrees_with_python COMMAND test_@name@)
endif()

ament_package()
