// Empties what a build writes: a file that was renamed in src must not live on in dist, nor its test in build.
import { rmSync } from 'node:fs'

for (const folder of process.argv.slice(2)) rmSync(folder, { recursive: true, force: true })
