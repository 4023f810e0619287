package cherrypy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/brineproject/brine/netapi/stream"
)

// A meter counts what a door serves, for Prometheus.
type meter struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMeter(hub *stream.Hub) *meter {
	m := &meter{registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "brine_api_requests_total",
			Help: "Requests by address, method and status."}, []string{"path", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "brine_api_request_seconds",
			Help: "Time until a request is answered, or its stream has ended.", Buckets: []float64{.001, .01, .1, 1, 10, 100}},
			[]string{"path"})}
	m.registry.MustRegister(m.requests, m.seconds)
	if hub != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "brine_api_streams",
			Help: "Open streams of events."}, func() float64 { return float64(hub.Listeners()) }))
	}
	return m
}

// note counts a request. The path is that of a route, so that clients cannot make up new ones.
func (m *meter) note(path, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(path, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(path).Observe(took.Seconds())
}

// metrics returns the numbers.
func metrics(q *request) error {
	promhttp.HandlerFor(q.meter.registry, promhttp.HandlerOpts{}).ServeHTTP(q.w, q.r)
	return nil
}

// A counter is a ResponseWriter that knows the status of its answer.
type counter struct {
	http.ResponseWriter
	code int
}

// WriteHeader notes the status.
func (c *counter) WriteHeader(code int) {
	if c.code == 0 && code >= 200 || code == http.StatusSwitchingProtocols {
		c.code = code
	}
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush, set deadlines and take over the connection.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counter) status() int {
	if c.code == 0 {
		return http.StatusOK
	}
	return c.code
}
