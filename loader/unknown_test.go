package loader

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestUnknownShowsNoSecrets(t *testing.T) {
	words := data.NewMap("foo", int64(1), "https_pass", "marker", "pasword", "marker", "url",
		"https://u:marker@host/", "api_key", "marker", "signing_private_keyy", "marker", "header",
		data.NewMap("token", "marker"))
	want := "The following keyword arguments are not valid: foo=1, https_pass=**********, pasword=**********, url=https://u:**********@host/, " +
		"api_key=**********, signing_private_keyy=**********, header={'token': '**********'}"
	if err := Unknown(words); err == nil || err.Error() != want || KindOf(err) != KindInvocation {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := Unknown(&data.Map{}); err != nil {
		t.Errorf("without any: %v", err)
	}
}
