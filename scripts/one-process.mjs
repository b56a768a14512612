// Runs test files in this process, one after the other. Node's own `--test-isolation=none` exists only from Node 22 on.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href)
