// Package standard lists the engines that send events to message brokers. Only masters have them.
package standard

import (
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/kafkasink"
	"github.com/brineproject/brine/engines/mqttsink"
	"github.com/brineproject/brine/engines/natssink"
)

// Engines returns the engines by their names in the option engines.
func Engines() map[string]engines.Make {
	return map[string]engines.Make{"kafka": kafkasink.New, "mqtt": mqttsink.New, "nats": natssink.New}
}
