// Package standard lists the engines that masters and minions are built with.
package standard

import (
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/fluent"
	"github.com/brineproject/brine/engines/logstash"
	"github.com/brineproject/brine/engines/program"
	"github.com/brineproject/brine/engines/redissentinel"
	"github.com/brineproject/brine/engines/script"
	"github.com/brineproject/brine/engines/stalekey"
	"github.com/brineproject/brine/engines/testengine"
	"github.com/brineproject/brine/engines/thorium"
)

// Engines returns the engines of a master, without those of engines/sink/standard, by their names in
// the option engines. Some have a second name, that of Salt's file.
func Engines() map[string]engines.Make {
	all := shared()
	all["redis"], all["redis_sentinel"] = redissentinel.New, redissentinel.New
	all["stalekey"], all["thorium"] = stalekey.New, thorium.New
	return all
}

// ForMinions returns the engines of a minion. Those that only masters can run are errors.
func ForMinions() map[string]engines.Make {
	all := shared()
	for _, name := range []string{"kafka", "mqtt", "nats", "reactor", "redis", "redis_sentinel", "stalekey", "thorium"} {
		all[name] = engines.MasterOnly
	}
	return all
}

func shared() map[string]engines.Make {
	all := map[string]engines.Make{
		"fluent": fluent.New, "logstash": logstash.New, "logstash_engine": logstash.New, "program": program.New,
		"script": script.New, "test": testengine.New,
	}
	for name, maker := range web() {
		all[name] = maker
	}
	return all
}
