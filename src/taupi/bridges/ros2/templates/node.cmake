cmake_minimum_required(VERSION 3.16)
project(@name@ C CXX)

set(CMAKE_C_STANDARD 99)
if(NOT CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 17)
endif()

find_package(ament_cmake REQUIRED)
find_package(rclcpp REQUIRED)
find_package(sensor_msgs REQUIRED)
find_package(std_msgs REQUIRED)

add_executable(@name@_node src/@name@_node.cpp @sources@)
target_include_directories(@name@_node PRIVATE include)
target_link_libraries(@name@_node rclcpp::rclcpp ${sensor_msgs_TARGETS} ${std_msgs_TARGETS} m)

install(TARGETS @name@_node DESTINATION lib/${PROJECT_NAME})
install(DIRECTORY config DESTINATION share/${PROJECT_NAME})

if(BUILD_TESTING)
  add_executable(test_@name@ test/test_@name@.c @sources@)
  target_include_directories(test_@name@ PRIVATE include)
  target_link_libraries(test_@name@ m)
  add_test(NAME @name@_agrees_with_python COMMAND test_@name@)
endif()

ament_package()
