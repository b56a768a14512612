#!/usr/bin/env node
// The `weir` command: docs/guide/command-line.md.

import { runCommand } from './commands.ts'

process.exitCode = await runCommand(process.argv.slice(2))
