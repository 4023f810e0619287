package netapi

import (
	"net/http"
	"sync"
)

// orders counts the orders that one door carries out.
type orders struct {
	most, mostEach int // 0 means any number

	mu   sync.Mutex
	all  int
	each map[string]int
}

func newOrders(d *Door) *orders {
	return &orders{most: d.MaxOrders, mostEach: d.MaxOrdersPerUser, each: map[string]int{}}
}

// enter counts an order until leave is called. The error is a *Fault if who, or all together, have too
// many.
func (o *orders) enter(who string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mostEach > 0 && o.each[who] >= o.mostEach:
		return nil, fault(http.StatusTooManyRequests, "%d orders of %s are under way, which is the limit", o.mostEach, clip(who))
	case o.most > 0 && o.all >= o.most:
		return nil, fault(http.StatusServiceUnavailable, "%d orders are under way, which is the limit", o.most)
	}
	o.all++
	o.each[who]++
	return func() { o.leave(who) }, nil
}

func (o *orders) leave(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.each[who]--; o.each[who] == 0 {
		delete(o.each, who)
	}
}
