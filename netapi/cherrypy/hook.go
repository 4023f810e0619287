package cherrypy

import (
	"net/http"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi/web"
)

// hook fires an event for a request.
func hook(q *request) error {
	secret := q.Door.HookSecret(web.HookPath(q.Door.WebhookURL, q.rest))
	if err := web.CheckHook(q.r, secret, q.body.Raw); err != nil {
		return err
	}
	tag, err := web.HookTag(q.Door.WebhookURL, q.rest)
	if err != nil {
		return err
	}
	body := data.NewMap("body", q.body.Text(), "post", q.body.Post(), "headers", web.HookHeaders(q.r))
	if err := q.Gate.MayFire(q.caller); err != nil {
		return err
	}
	if err := q.hooks.Fire(q.r, q.caller, secret, tag, body); err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("success", true))
}
