package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"
)

// onceField is the field of a form with the number of the page that the form was on.
const onceField = "once"

// sentFor is how long the console knows that a form was sent, and mostSent how many it knows.
const (
	sentFor  = 15 * time.Minute
	mostSent = 10_000
)

// pageNumber returns a number that no other page has.
func pageNumber() string { return rand.Text() }

// sentForms are the forms that were carried out, so that a form that is sent twice, as by a double click,
// is carried out once. The zero value is ready; several requests may use it.
type sentForms struct {
	mu    sync.Mutex
	forms map[[sha256.Size]byte]*sentForm
}

// A sentForm is a form that is carried out, or was.
type sentForm struct {
	at   time.Time
	done chan struct{} // closed when the form is carried out; to and said are set then
	to   string        // where it has led; "" if it was not carried out
	said string        // the notice of the next page
}

// begin returns the form of a key. first is true for whoever has to carry it out and to call end.
func (s *sentForms) begin(key [sha256.Size]byte, now time.Time) (form *sentForm, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if form = s.forms[key]; form != nil && now.Sub(form.at) < sentFor {
		return form, false
	}
	if s.forms == nil || len(s.forms) >= mostSent {
		s.drop(now)
	}
	form = &sentForm{at: now, done: make(chan struct{})}
	s.forms[key] = form
	return form, true
}

// drop forgets what is old, or all if nothing is.
func (s *sentForms) drop(now time.Time) {
	for key, form := range s.forms {
		if now.Sub(form.at) >= sentFor {
			delete(s.forms, key)
		}
	}
	if s.forms == nil || len(s.forms) >= mostSent {
		s.forms = map[[sha256.Size]byte]*sentForm{}
	}
}

// end says where a form has led. One that has led nowhere can be sent again.
func (s *sentForms) end(key [sha256.Size]byte, form *sentForm, to, said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if form.to, form.said = to, said; to == "" && s.forms[key] == form {
		delete(s.forms, key)
	}
	close(form.done)
}

// once carries out a form. If the same form of the same page was sent before, with the same contents, it
// leads where the first one has led. The first one goes on when its browser has gone: a browser gives up
// the first of two requests.
func (q *request) once(do action) error {
	number := q.r.PostForm.Get(onceField)
	if number == "" {
		return do(q)
	}
	key := sha256.Sum256([]byte(q.session.ID + "\n" + q.r.URL.Path + "\n" + q.r.PostForm.Encode()))
	for {
		form, first := q.sent.begin(key, q.Now())
		if first {
			return q.first(key, form, do)
		}
		select {
		case <-form.done:
		case <-q.r.Context().Done():
			return q.r.Context().Err()
		}
		if form.to != "" {
			q.notify(strings.TrimSpace(form.said + " This form was sent twice. It was carried out once."))
			http.Redirect(q.w, q.r, form.to, http.StatusSeeOther)
			return nil
		}
	}
}

// first carries out a form, and says where it has led.
func (q *request) first(key [sha256.Size]byte, form *sentForm, do action) (err error) {
	to := ""
	defer func() { q.sent.end(key, form, to, q.said) }()
	q.r = q.r.WithContext(context.WithoutCancel(q.r.Context()))
	q.ask.ctx = q.r.Context()
	if err = do(q); err == nil {
		to = q.w.Header().Get("Location")
	}
	return err
}
