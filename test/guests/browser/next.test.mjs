// Next: its request handler, as a custom server uses it.
import next from 'next'

import { buildApp } from '../support/build-app.mjs'
import { DRIVEN, driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'

let prepared
async function prepare() {
  process.env.NODE_ENV = 'production'
  const app = next({ dev: false, dir: buildApp('next', ['next/dist/bin/next', 'build'], '.next/BUILD_ID') })
  await app.prepare()
  return app.getRequestHandler()
}

guest('Next', {
  kind: 'application',
  packages: ['next'],
  driven: DRIVEN,
  app: () => (prepared ??= prepare()),
  drive: driveApp,
})
