// @title@ as a controller of ros2_control. Written by taupi @version@.
#ifndef @guard@_ROS2_CONTROLLER_HPP_
#define @guard@_ROS2_CONTROLLER_HPP_

#include <array>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/state.hpp"
#if __has_include("realtime_tools/realtime_buffer.hpp")
#include "realtime_tools/realtime_buffer.hpp"
#else  // releases before Jazzy
#include "realtime_tools/realtime_buffer.h"
#endif
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

#include "@name@_controller.h"

namespace @name@
{

// The reference: positions, velocities, accelerations, and when it arrived.
struct Reference
{
  std::array<double, @n@> q{};
  std::array<double, @n@> qd{};
  std::array<double, @n@> qdd{};
  double seconds = 0.0;
};

class @class@ : public controller_interface::ControllerInterface
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_init() override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  void receive(const trajectory_msgs::msg::JointTrajectoryPoint & message);
  bool read_state(double * q, double * qd) const;
  void command(const double * tau);

  ::@name@_controller controller_{};
  std::vector<std::string> joints_;
  std::vector<double> effort_limits_;
  double reference_timeout_ = 0.0;
  realtime_tools::RealtimeBuffer<Reference> reference_;
  rclcpp::Subscription<trajectory_msgs::msg::JointTrajectoryPoint>::SharedPtr subscription_;
};

}  // namespace @name@

#endif  // @guard@_ROS2_CONTROLLER_HPP_
