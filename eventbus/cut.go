package eventbus

import "os"

// CutOthers closes connections to the pub sockets, including waiting ones, whose user is neither
// that of this process nor root. Use it when fewer users may listen than before. Connections whose
// user is unknown are closed too.
func (b *Bus) CutOthers() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.listeners {
		l.admitWaiting()
		l.server.cutOthers()
	}
}

func (s *server) cutOthers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if uid, ok := peerOf(r.conn); !ok || uid != 0 && uid != os.Geteuid() {
			r.conn.Close() // watch and write notice it
		}
	}
}
