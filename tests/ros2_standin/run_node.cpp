// What happens while a node spins: rows of time, q, qd, tau on standard input become joint states; results are printed by topic.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

void rclcpp::spin(const std::shared_ptr<Node> &)
{
  std::istringstream names(std::getenv("STANDIN_JOINTS")), topics(std::getenv("STANDIN_TOPICS"));
  std::vector<std::string> joints;
  for (std::string name; names >> name;) joints.push_back(name);
  std::cout.precision(17);
  for (std::string topic; topics >> topic;) {
    rclcpp::standin::sinks<std_msgs::msg::Float64MultiArray>()[topic] =
      [topic](const std_msgs::msg::Float64MultiArray & message) {
        std::cout << topic;
        for (double value : message.data) std::cout << ' ' << value;
        std::cout << '\n';
      };
  }
  const std::size_t n = joints.size();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    sensor_msgs::msg::JointState message;
    long long nanoseconds = 0;
    words >> nanoseconds;
    message.header.stamp.sec = static_cast<std::int32_t>(nanoseconds / 1000000000);
    message.header.stamp.nanosec = static_cast<std::uint32_t>(nanoseconds % 1000000000);
    std::vector<double> row;
    for (double value; words >> value;) row.push_back(value);
    message.name.push_back("somebody_else");  // other joints share the topic, in another order
    message.position.push_back(9.0), message.velocity.push_back(9.0), message.effort.push_back(9.0);
    for (std::size_t i = n; i-- > 0;) {
      message.name.push_back(joints[i]);
      message.position.push_back(row[i]);
      message.velocity.push_back(row[n + i]);
      if (row.size() == 3 * n) message.effort.push_back(row[2 * n + i]);
    }
    rclcpp::standin::send("joint_states", message);
  }
}
