// @title@ as a node of ROS 2. Written by taupi @version@.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

#include "@name@_@kind@.h"

namespace @name@
{

constexpr std::size_t kJoints = @n@;

// Takes joint states with positions, velocities and efforts; publishes @published@.
class @class@ : public rclcpp::Node
{
public:
  explicit @class@(const rclcpp::NodeOptions & options = rclcpp::NodeOptions())
  : rclcpp::Node("@name@", options)
  {
    joints_ = declare_parameter<std::vector<std::string>>("joints", {@joint_names@});
    longest_gap_ = declare_parameter<double>("longest_gap", 0.5);
    if (joints_.size() != kJoints) {
      throw std::invalid_argument("joints has another number of names than @n@.");
    }
@declare_cutoff@    @name@_init(&component_);
@create_publishers@    subscription_ = create_subscription<sensor_msgs::msg::JointState>(
      "joint_states", rclcpp::SensorDataQoS(), [this](const sensor_msgs::msg::JointState & message) { receive(message); });
  }

private:
  void receive(const sensor_msgs::msg::JointState & message)
  {
    double q[kJoints], qd[kJoints], tau[kJoints];
    for (std::size_t i = 0; i < kJoints; ++i) {
      const auto found = std::find(message.name.begin(), message.name.end(), joints_[i]);
      const auto k = static_cast<std::size_t>(found - message.name.begin());
      if (k >= message.position.size() || k >= message.velocity.size() || k >= message.effort.size()) {
        RCLCPP_WARN_ONCE(
          get_logger(), "A message is left out: it has no position, velocity and effort of %s.", joints_[i].c_str());
        return;
      }
      q[i] = message.position[k];
      qd[i] = message.velocity[k];
      tau[i] = message.effort[k];
      if (!std::isfinite(q[i]) || !std::isfinite(qd[i]) || !std::isfinite(tau[i])) {
        RCLCPP_WARN_ONCE(get_logger(), "A message is left out: %s is not finite.", joints_[i].c_str());
        return;
      }
    }
    const double seconds = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec;
    const double dt = seconds - last_seconds_;
    if (dt == 0.0) {  // the same state again, or a stamp that is never set
      RCLCPP_WARN_ONCE(get_logger(), "A message is left out: its stamp is that of the one before.");
      return;
    }
    last_seconds_ = seconds;
    if (!(dt > 0.0) || dt > longest_gap_) {  // the first message, time that runs backwards, or a gap: restart
      @name@_init(&component_);
@begin_anew@      return;
    }
@accelerations@@declare_results@    if (@name@_update(&component_, @inputs@, dt, @outputs@) >= @name@_refused_input) {
      RCLCPP_WARN_ONCE(get_logger(), "A message is left out: it is not one of a robot.");
      return;
    }
@publish@  }

  ::@name@_@kind@ component_{};
  std::vector<std::string> joints_;
  double longest_gap_ = 0.5;
  double last_seconds_ = -std::numeric_limits<double>::infinity();
@members@  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr subscription_;
};

}  // namespace @name@

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<@name@::@class@>());
  rclcpp::shutdown();
  return 0;
}
