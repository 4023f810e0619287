package console_test

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A saltMaster is a master without the functions that only Brine's has.
type saltMaster struct{ netapi.Master }

func (m saltMaster) Order(ctx context.Context, low *data.Map) (*netapi.Answer, error) {
	switch fun := low.Text("fun"); fun {
	case "manage.fleet":
		return &netapi.Answer{Items: []any{"Exception occurred in runner manage.fleet: Traceback (most recent call last):\n" +
			"KeyError: \"'manage.fleet' is not available.\""}}, nil
	case "minions.pillar":
		body := data.NewMap("success", false, "return", "'minions.pillar' is not available.")
		return &netapi.Answer{Items: []any{data.NewMap("data", body)}}, nil
	}
	return m.Master.Order(ctx, low)
}

// pagesOfSalt tests the pages with a master that has only Salt's functions.
func pagesOfSalt(t *testing.T, b *browser) {
	own := b.Gate.Master
	b.Gate.Master = saltMaster{own}
	defer func() { b.Gate.Master = own }()
	b.get(t, "/minions").want(t, 200, "1 of 2 connected", ">m1</a>", ">connected</span>", ">away1</a>", "3006.")
	got := b.get(t, "/minions?connected=no")
	got.want(t, 200, ">away1</a>")
	got.lacks(t, ">m1</a>")
	got = b.get(t, "/minions?after=away1")
	got.lacks(t, ">away1</a>")
	b.get(t, "/minions?tgt=role:web-m1&tgt_type=grain&grain=role").want(t, 200, "<td>web-m1</td>")
	b.get(t, "/minions?tgt=m1,nosuch&tgt_type=list").want(t, 200, "1 of 1 connected")
	b.get(t, "/minions/m1").want(t, 200, ">connected</span>", ">saltversion:</span>")
	b.get(t, "/minions/nosuch").want(t, 404, "There is no minion nosuch")
	if got := b.get(t, "/minions/m1?tab=pillar"); !strings.Contains(got.body, `class="tree"`) && !strings.Contains(got.body, "no pillar") {
		t.Errorf("the pillar: %s", got.body)
	}
}
