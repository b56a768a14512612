// Next: its request handler, as a custom server uses it.
import next from 'next'

import { buildApp } from '../support/build-app.mjs'
import { driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'
import { WEIR_HTTP2 } from '../support/serve-guest.mjs'

let prepared
async function prepare() {
  process.env.NODE_ENV = 'production'
  const app = next({ dev: false, dir: buildApp('next', ['next/dist/bin/next', 'build'], '.next/BUILD_ID') })
  await app.prepare()
  return app.getRequestHandler()
}

guest('Next', {
  kind: 'application',
  more: [WEIR_HTTP2],
  measured: '/other',
  packages: ['next'],
  driven: 'static and dynamic pages, a server action, Suspense, `next/image`, a route handler',
  app: () => (prepared ??= prepare()),
  drive: driveApp,
})
