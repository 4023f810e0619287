package metrics

import "github.com/prometheus/client_golang/prometheus"

// A Part is the state of a part of the daemon, as its supervisor reports it.
type Part struct {
	Name     string
	Running  bool
	Restarts int // after failures
}

// parts collects the states of all parts.
type parts struct {
	now      func() []Part
	running  *prometheus.Desc
	restarts *prometheus.Desc
}

func newParts(now func() []Part) *parts {
	return &parts{now: now,
		running: prometheus.NewDesc("brine_part_running", "1 while a part of the daemon runs",
			[]string{"part"}, nil),
		restarts: prometheus.NewDesc("brine_part_restarts_total",
			"Times a part of the daemon was started again after a failure", []string{"part"}, nil)}
}

// Describe sends the descriptions of the metrics.
func (p *parts) Describe(to chan<- *prometheus.Desc) {
	to <- p.running
	to <- p.restarts
}

// Collect sends the current values.
func (p *parts) Collect(to chan<- prometheus.Metric) {
	for _, part := range p.now() {
		to <- prometheus.MustNewConstMetric(p.running, prometheus.GaugeValue,
			boolValue(part.Running), part.Name)
		to <- prometheus.MustNewConstMetric(p.restarts, prometheus.CounterValue,
			float64(part.Restarts), part.Name)
	}
}
