package eventbus

import "os"

// CutOthers ends the connections to the pub sockets that are not of the user of this process or of root, for when fewer may
// listen than before. Those that wait to be accepted are among them. Where it cannot be told whose a connection is, it is ended.
func (b *Bus) CutOthers() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.admits {
		l.admit()
		l.server.cutOthers()
	}
}

func (s *server) cutOthers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if uid, ok := peerOf(r.conn); !ok || uid != 0 && uid != os.Geteuid() {
			r.conn.Close() // watch and write see it
		}
	}
}
