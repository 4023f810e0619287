package saltutil

// descendants returns the child processes of pid and their descendants, nearest first.
func descendants(pid int64) []int64 {
	children := map[int64][]int64{}
	for child, parent := range parents() {
		if child != parent {
			children[parent] = append(children[parent], child)
		}
	}
	seen := map[int64]bool{pid: true}
	var all []int64
	for next := []int64{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			if !seen[child] { // reused ids could form a cycle
				seen[child] = true
				all, next = append(all, child), append(next, child)
			}
		}
	}
	return all
}
