// Stand-in: see README.md.
#pragma once
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rclcpp
{
class Time
{
public:
  explicit Time(double seconds = 0.0) : seconds_(seconds) {}
  double seconds() const { return seconds_; }

private:
  double seconds_;
};

class Duration
{
public:
  explicit Duration(double seconds) : seconds_(seconds) {}
  double seconds() const { return seconds_; }

private:
  double seconds_;
};

struct Logger
{
};

struct NodeOptions
{
};

struct QoS
{
  QoS(int) {}
};
struct SystemDefaultsQoS : QoS
{
  SystemDefaultsQoS() : QoS(10) {}
};
struct SensorDataQoS : QoS
{
  SensorDataQoS() : QoS(10) {}
};

class Parameter
{
public:
  using Value = std::variant<double, std::vector<double>, std::vector<std::string>>;
  Parameter() = default;
  explicit Parameter(Value value) : value_(std::move(value)) {}
  double as_double() const { return std::get<double>(value_); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value_); }
  std::vector<std::string> as_string_array() const { return std::get<std::vector<std::string>>(value_); }

private:
  Value value_;
};

template <typename Message>
class Publisher
{
public:
  using SharedPtr = std::shared_ptr<Publisher>;
  explicit Publisher(std::function<void(const Message &)> sink) : sink_(std::move(sink)) {}
  void publish(const Message & message) { sink_(message); }

private:
  std::function<void(const Message &)> sink_;
};

template <typename Message>
class Subscription
{
public:
  using SharedPtr = std::shared_ptr<Subscription>;
  explicit Subscription(std::function<void(const Message &)> callback) : callback_(std::move(callback)) {}
  std::function<void(const Message &)> callback_;
};

// What nodes of one process share here: the time, parameters that override defaults, topics.
namespace standin
{
inline double & seconds()
{
  static double value = 0.0;
  return value;
}
inline std::map<std::string, Parameter> & overrides()
{
  static std::map<std::string, Parameter> table;
  return table;
}
template <typename Message>
std::map<std::string, std::function<void(const Message &)>> & sinks()
{
  static std::map<std::string, std::function<void(const Message &)>> table;
  return table;
}
template <typename Message>
std::map<std::string, std::weak_ptr<Subscription<Message>>> & subscriptions()
{
  static std::map<std::string, std::weak_ptr<Subscription<Message>>> table;
  return table;
}
template <typename Message>
void send(const std::string & topic, const Message & message)
{
  subscriptions<Message>().at(topic).lock()->callback_(message);
}
}  // namespace standin

class Node
{
public:
  explicit Node(std::string name, const NodeOptions & = NodeOptions()) : name_(std::move(name)) {}
  virtual ~Node() = default;
  Logger get_logger() const { return {}; }
  Time now() const { return Time(standin::seconds()); }

  template <typename T>
  T declare_parameter(const std::string & name, const T & value)
  {
    const auto found = standin::overrides().find(name);
    parameters_[name] = found == standin::overrides().end() ? Parameter(Parameter::Value(value)) : found->second;
    return get<T>(parameters_[name]);
  }
  Parameter get_parameter(const std::string & name) const { return parameters_.at(name); }

  template <typename Message>
  typename Publisher<Message>::SharedPtr create_publisher(const std::string & topic, const QoS &)
  {
    return std::make_shared<Publisher<Message>>([topic](const Message & message) {
      const auto found = standin::sinks<Message>().find(topic);
      if (found != standin::sinks<Message>().end()) found->second(message);
    });
  }
  template <typename Message, typename Callback>
  typename Subscription<Message>::SharedPtr create_subscription(const std::string & topic, const QoS &, Callback callback)
  {
    auto result = std::make_shared<Subscription<Message>>(callback);
    standin::subscriptions<Message>()[topic] = result;
    return result;
  }

private:
  template <typename T>
  static T get(const Parameter & parameter)
  {
    if constexpr (std::is_same_v<T, double>) {
      return parameter.as_double();
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      return parameter.as_double_array();
    } else {
      return parameter.as_string_array();
    }
  }
  std::string name_;
  std::map<std::string, Parameter> parameters_;
};

inline void init(int, char **) {}
inline void shutdown() {}
void spin(const std::shared_ptr<Node> & node);  // the test says what happens while a node spins
}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) (static_cast<void>(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define RCLCPP_WARN RCLCPP_ERROR
#define RCLCPP_WARN_ONCE RCLCPP_ERROR
