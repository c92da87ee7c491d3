// Stand-in: see README.md.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
namespace builtin_interfaces::msg
{
struct Time
{
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};
}  // namespace builtin_interfaces::msg
namespace std_msgs::msg
{
struct Header
{
  builtin_interfaces::msg::Time stamp;
  std::string frame_id;
};
}  // namespace std_msgs::msg
namespace sensor_msgs::msg
{
struct JointState
{
  std_msgs::msg::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}  // namespace sensor_msgs::msg
