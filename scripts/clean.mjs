// Empties the folders of a build, so that a file that was renamed in src does not remain in dist, nor its test in build.
import { rmSync } from 'node:fs'

for (const folder of process.argv.slice(2)) rmSync(folder, { recursive: true, force: true })
