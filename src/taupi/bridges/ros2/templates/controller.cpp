// @title@ as a controller of ros2_control. Written by taupi @version@.
#include "@name@_ros2_controller.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <type_traits>

#include "pluginlib/class_list_macros.hpp"

namespace @name@
{
namespace
{

constexpr std::size_t kJoints = @n@;

// Newer releases of ros2_control return an optional, older ones the value itself.
template <typename Interface>
auto value_of(const Interface & interface, int) -> std::decay_t<decltype(interface.get_optional().value())>
{
  return interface.get_optional().value_or(std::numeric_limits<double>::quiet_NaN());
}

template <typename Interface>
double value_of(const Interface & interface, long)
{
  return interface.get_value();
}

bool finite(const double * values)
{
  return std::all_of(values, values + kJoints, [](double value) { return std::isfinite(value); });
}

// Accept kJoints finite numbers; none at all stand for zeros where `optional`.
bool take(const std::vector<double> & values, std::array<double, kJoints> & target, bool optional)
{
  if (values.empty() && optional) {
    target.fill(0.0);
    return true;
  }
  if (values.size() != kJoints || !finite(values.data())) {
    return false;
  }
  std::copy(values.begin(), values.end(), target.begin());
  return true;
}

}  // namespace

controller_interface::CallbackReturn @class@::on_init()
{
  try {
    auto_declare<std::vector<std::string>>("joints", {@joint_names@});
    auto_declare<std::vector<double>>("effort_limits", {@effort_limits@});
    auto_declare<double>("reference_timeout", 0.1);
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "Parameters cannot be declared: %s", error.what());
    return controller_interface::CallbackReturn::ERROR;
  }
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration @class@::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const auto & joint : joints_) {
    configuration.names.push_back(joint + "/effort");
  }
  return configuration;
}

controller_interface::InterfaceConfiguration @class@::state_interface_configuration() const
{
  controller_interface::InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const auto & joint : joints_) {
    configuration.names.push_back(joint + "/position");
    configuration.names.push_back(joint + "/velocity");
  }
  return configuration;
}

controller_interface::CallbackReturn @class@::on_configure(const rclcpp_lifecycle::State & /*previous*/)
{
  joints_ = get_node()->get_parameter("joints").as_string_array();
  effort_limits_ = get_node()->get_parameter("effort_limits").as_double_array();
  reference_timeout_ = get_node()->get_parameter("reference_timeout").as_double();
  if (joints_.size() != kJoints) {
    RCLCPP_ERROR(get_node()->get_logger(), "joints has %zu names, expected %zu.", joints_.size(), kJoints);
    return controller_interface::CallbackReturn::ERROR;
  }
  const bool positive = std::all_of(
    effort_limits_.begin(), effort_limits_.end(), [](double limit) { return limit > 0.0; });
  if (effort_limits_.size() != kJoints || !positive) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "effort_limits has %zu numbers, expected %zu above 0.", effort_limits_.size(), kJoints);
    return controller_interface::CallbackReturn::ERROR;
  }
  subscription_ = get_node()->create_subscription<trajectory_msgs::msg::JointTrajectoryPoint>(
    "~/reference", rclcpp::SystemDefaultsQoS(),
    [this](const trajectory_msgs::msg::JointTrajectoryPoint & message) { receive(message); });
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn @class@::on_activate(const rclcpp_lifecycle::State & /*previous*/)
{
  Reference here;
  double qd[kJoints] = {};
  if (!read_state(here.q.data(), qd)) {
    RCLCPP_ERROR(get_node()->get_logger(), "The hardware gives no finite positions and velocities.");
    return controller_interface::CallbackReturn::ERROR;
  }
  here.seconds = -std::numeric_limits<double>::infinity();  // stay here until a reference arrives
  reference_.initRT(here);
  @name@_init(&controller_);
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn @class@::on_deactivate(const rclcpp_lifecycle::State & /*previous*/)
{
  const double zeros[kJoints] = {};
  command(zeros);
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::return_type @class@::update(const rclcpp::Time & time, const rclcpp::Duration & period)
{
  double q[kJoints] = {}, qd[kJoints] = {}, tau[kJoints] = {};
  const double dt = period.seconds();
  Reference wanted = *reference_.readFromRT();
  if (!(time.seconds() - wanted.seconds <= reference_timeout_)) {  // nothing new: hold the last position
    wanted.qd.fill(0.0);
    wanted.qdd.fill(0.0);
  }
  const bool seen = read_state(q, qd) && dt > 0.0;
  int status = @name@_refused_input;
  if (seen) {
    status = @name@_update(&controller_, q, qd, wanted.q.data(), wanted.qd.data(), wanted.qdd.data(), dt, tau);
  }
  if (status >= @name@_refused_input) {  // the estimate is held, and the next good sample goes on
    const double zeros[kJoints] = {};
    command(zeros);
    return controller_interface::return_type::ERROR;
  }
  command(tau);
  return controller_interface::return_type::OK;
}

void @class@::receive(const trajectory_msgs::msg::JointTrajectoryPoint & message)
{
  Reference wanted;
  if (
    !take(message.positions, wanted.q, false) || !take(message.velocities, wanted.qd, true) ||
    !take(message.accelerations, wanted.qdd, true)) {
    RCLCPP_WARN(get_node()->get_logger(), "A reference is left out: %zu finite numbers are expected.", kJoints);
    return;
  }
  wanted.seconds = get_node()->now().seconds();
  reference_.writeFromNonRT(wanted);
}

bool @class@::read_state(double * q, double * qd) const
{
  if (state_interfaces_.size() != 2 * kJoints) {
    return false;
  }
  for (std::size_t i = 0; i < kJoints; ++i) {
    q[i] = value_of(state_interfaces_[2 * i], 0);
    qd[i] = value_of(state_interfaces_[2 * i + 1], 0);
  }
  return finite(q) && finite(qd);
}

void @class@::command(const double * tau)
{
  for (std::size_t i = 0; i < kJoints && i < command_interfaces_.size(); ++i) {
    static_cast<void>(
      command_interfaces_[i].set_value(std::clamp(tau[i], -effort_limits_[i], effort_limits_[i])));
  }
}

}  // namespace @name@

PLUGINLIB_EXPORT_CLASS(@name@::@class@, controller_interface::ControllerInterface)
