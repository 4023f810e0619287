package tornado

import (
	"net/http"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi/web"
)

// hook fires an event for a request.
func hook(q *request) error {
	tag, err := web.HookTag(q.Door.WebhookURL, q.rest)
	if err != nil {
		return err
	}
	get := data.NewMap()
	for name, values := range q.r.URL.Query() {
		if len(values) == 1 {
			get.Set(name, values[0])
		} else {
			get.Set(name, data.Values(values))
		}
	}
	body := data.NewMap("post", q.body.Post(), "get", get, "headers", web.HookHeaders(q.r))
	if err := q.Gate.MayFire(q.caller); err != nil {
		return err
	}
	if err := q.hooks.Fire(q.r, q.caller, "", tag, body); err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("success", true))
}
