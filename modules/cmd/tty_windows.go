package cmd

const noTerminal = 0
