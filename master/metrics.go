package master

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/master/metrics"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// bindMetrics opens the metrics address, if one is configured.
func (m *Master) bindMetrics(ctx context.Context, o Options) error {
	if m.cfg.MetricsAddress == "" {
		return nil
	}
	server, err := metrics.New(ctx, metrics.Options{
		Address:     m.cfg.MetricsAddress,
		Certificate: m.cfg.MetricsCertificate,
		Key:         m.cfg.MetricsKey,
		MinionLabel: m.cfg.MetricsMinionLabel,
		Samples:     m.samples(),
		Parts:       m.partStates,
		Ready:       m.ready,
		Notes:       func() []string { return m.parts.member.unknownKeys() },
		Log:         o.Log,
		Now:         o.Now,
	})
	if err != nil {
		return &config.About{Option: "metrics_address", Err: err}
	}
	m.metrics = server
	m.closers = append(m.closers, server.Close)
	return nil
}

// metricsPart returns the part that serves metrics.
func (m *Master) metricsPart() daemon.Part {
	return daemon.Part{
		Name: "metrics",
		Run:  daemon.Always(func(ctx context.Context) error { return m.metrics.Serve(ctx, m.parts.bus) }),
	}
}

// ready returns the reason if the master cannot work, or nil.
func (m *Master) ready() error {
	if trouble := m.group.Trouble(); trouble != "" {
		return errors.New(trouble)
	}
	return m.parts.member.quorum()
}

// samples returns the master's own metrics.
func (m *Master) samples() []metrics.Sample {
	samples := []metrics.Sample{
		{
			Name:  "salt_health_minions_total",
			Help:  "Total number of minions whose keys are accepted",
			Value: m.accepted,
		},
		{
			Name:  "brine_minions_connected",
			Help:  "Minions that are connected",
			Value: func() float64 { return float64(m.parts.presence.Count()) },
		},
		{
			Name:    "brine_events_total",
			Help:    "Events on the bus",
			Counter: true,
			Value:   func() float64 { return float64(m.parts.bus.Fired()) },
		},
		{
			Name:  "brine_batches",
			Help:  "Batches under way",
			Value: func() float64 { return float64(m.batches.count()) },
		},
	}
	if m.clustered {
		samples = append(samples, m.clusterSamples()...)
	}
	samples = append(samples, portSamples("request",
		func() transport.Stats { return m.reply.Stats() })...)
	return append(samples, portSamples("publish",
		func() transport.Stats { return m.publish.Stats() })...)
}

// clusterSamples returns the metrics of a member of a cluster.
func (m *Master) clusterSamples() []metrics.Sample {
	sample := func(name, help string, value func(*member) uint64) metrics.Sample {
		return metrics.Sample{Name: "brine_cluster_" + name, Help: help,
			Counter: strings.HasSuffix(name, "_total"),
			Value:   func() float64 { return float64(value(m.parts.member)) }}
	}
	return []metrics.Sample{
		sample("quorum", "1 while a majority of the NATS servers takes what this master writes, else 0",
			func(c *member) uint64 { return oneIf(c.quorum() == nil) }),
		sample("leader", "1 while this master leads the cluster, else 0",
			func(c *member) uint64 { return oneIf(c.lead.leads()) }),
		sample("orders_behind", "Jobs of the cluster that this master has not carried out yet", (*member).ordersBehind),
		sample("returns_behind", "Entries with returns of the cluster that this master has not stored yet", (*member).returnsBehind),
		sample("spooled_returns", "Returns that wait on the disk of this master for the cluster",
			func(c *member) uint64 { return uint64(c.spool.Len()) }),
		sample("key_conflicts_total", "Keys that two masters of the cluster have changed at one time",
			func(c *member) uint64 { conflicts, _ := c.files.Status(); return conflicts }),
		sample("unknown_key_entries_total", "Entries of the cluster that are sealed with a key that this master lacks",
			(*member).leftOut),
		sample("forged_entries_total", "Entries of the cluster that somebody without its key has written",
			func(c *member) uint64 { return c.c.Forged() }),
	}
}

func oneIf(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// accepted returns the number of accepted keys.
func (m *Master) accepted() float64 {
	ids, err := m.parts.keys.List(pki.Accepted)
	if err != nil {
		return 0 // the next job logs the error, since it lists the keys too
	}
	return float64(len(ids))
}

// portSamples returns the metrics of one port.
func portSamples(port string, stats func() transport.Stats) []metrics.Sample {
	sample := func(name, help string, counter bool, value func(transport.Stats) uint64) metrics.Sample {
		return metrics.Sample{
			Name:    "brine_port_" + name,
			Help:    help,
			Labels:  map[string]string{"port": port},
			Counter: counter,
			Value:   func() float64 { return float64(value(stats())) },
		}
	}
	return []metrics.Sample{
		sample("connections", "Connections that are open", false,
			func(s transport.Stats) uint64 { return uint64(s.Connections) }),
		sample("accepted_total", "Connections taken", true,
			func(s transport.Stats) uint64 { return s.Accepted }),
		sample("refused_total", "Connections closed because of a limit", true,
			func(s transport.Stats) uint64 { return s.Refused }),
		sample("handshake_failures_total", "Connections that never became peers", true,
			func(s transport.Stats) uint64 { return s.HandshakeFailures }),
		sample("protocol_errors_total", "Peers closed because of what they sent", true,
			func(s transport.Stats) uint64 { return s.ProtocolErrors }),
		sample("received_total", "Requests", true,
			func(s transport.Stats) uint64 { return s.Received }),
		sample("sent_total", "Messages given to peers", true,
			func(s transport.Stats) uint64 { return s.Sent }),
		sample("dropped_total", "Messages dropped because the queue of a peer was full", true,
			func(s transport.Stats) uint64 { return s.Dropped }),
		sample("evicted_total", "Peers closed because they did not read", true,
			func(s transport.Stats) uint64 { return s.Evicted }),
	}
}

// partStates returns the states of the master's parts.
func (m *Master) partStates() []metrics.Part {
	var parts []metrics.Part
	for _, p := range m.group.Parts() {
		parts = append(parts, metrics.Part{Name: p.Name, Running: p.Running, Restarts: p.Restarts})
	}
	return parts
}
