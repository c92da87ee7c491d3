// Runs a controller as ros2_control would: rows of q, qd, wanted q, qd, qdd on standard input, torques on standard output.
// A row that begins with "nothing" has no reference, and one that begins with "bad" one that is too short.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "controller_interface/controller_interface.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

extern "C" controller_interface::ControllerInterface * make_plugin();
void rclcpp::spin(const std::shared_ptr<Node> &) {}

int main(int argc, char ** argv)
{
  using controller_interface::CallbackReturn;
  const std::size_t n = std::strtoul(argv[1], nullptr, 10);
  const double dt = std::strtod(argv[2], nullptr);
  if (argc > 3) {
    rclcpp::standin::overrides()["effort_limits"] =
      rclcpp::Parameter(rclcpp::Parameter::Value(std::vector<double>(std::strtoul(argv[3], nullptr, 10), 1.0)));
  }
  std::unique_ptr<controller_interface::ControllerInterface> controller(make_plugin());
  if (controller->on_init() != CallbackReturn::SUCCESS) return 10;
  if (controller->on_configure({}) != CallbackReturn::SUCCESS) return 11;
  for (const auto & name : controller->command_interface_configuration().names) std::cout << name << ' ';
  for (const auto & name : controller->state_interface_configuration().names) std::cout << name << ' ';
  std::cout << '\n';
  std::vector<double> states(2 * n, 0.0), commands(n, 0.0);
  std::vector<hardware_interface::LoanedStateInterface> loaned_states;
  std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
  for (auto & value : states) loaned_states.emplace_back(&value);
  for (auto & value : commands) loaned_commands.emplace_back(&value);
  controller->assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
  std::cout.precision(17);
  std::string line;
  bool active = false;
  double seconds = 10.0;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::vector<double> row;
    for (double value; words >> value;) row.push_back(value);
    for (std::size_t i = 0; i < n; ++i) {
      states[2 * i] = row[i];
      states[2 * i + 1] = kind == "broken" ? 0.0 / 0.0 : row[n + i];
    }
    if (!active && controller->on_activate({}) != CallbackReturn::SUCCESS) return 12;
    active = true;
    seconds += dt;
    rclcpp::standin::seconds() = seconds;
    if (kind == "wanted" || kind == "bad") {
      trajectory_msgs::msg::JointTrajectoryPoint point;
      point.positions.assign(row.begin() + 2 * n, row.begin() + 3 * n - (kind == "bad"));
      point.velocities.assign(row.begin() + 3 * n, row.begin() + 4 * n);
      point.accelerations.assign(row.begin() + 4 * n, row.begin() + 5 * n);
      rclcpp::standin::send("~/reference", point);
    }
    const auto ended = controller->update(rclcpp::Time(seconds), rclcpp::Duration(dt));
    std::cout << (ended == controller_interface::return_type::OK ? "ok" : "error");
    for (double value : commands) std::cout << ' ' << value;
    std::cout << '\n';
  }
  return controller->on_deactivate({}) == CallbackReturn::SUCCESS ? 0 : 13;
}
