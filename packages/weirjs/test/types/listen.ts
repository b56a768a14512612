// An entry of `listen` is one kind of place. Only tsc runs this file.

import { HttpServer, type ListenOptions } from '../../src/index.ts'

new HttpServer({
  listen: [
    { port: 80, reusePort: true },
    { unixSocket: '/run/x', mode: 0o660 },
    { fd: 3, name: 'web' },
  ],
})
const port: number | undefined = undefined
export const places: ListenOptions[] = [{ fd: 3 }, {}, { address: '::' }, ...(port === undefined ? [] : [{ port }])]
// @ts-expect-error an inherited socket is bound already
new HttpServer({ listen: [{ fd: 3, port: 80 }] })
// @ts-expect-error
new HttpServer({ listen: [{ fd: 3, address: '127.0.0.1' }] })
// @ts-expect-error
new HttpServer({ listen: [{ fd: 3, reusePort: true }] })
// @ts-expect-error
new HttpServer({ listen: [{ fd: 3, unixSocket: '/run/x' }] })
// @ts-expect-error
new HttpServer({ listen: [{ unixSocket: '/run/x', port: 80 }] })
// @ts-expect-error the mode of a file
new HttpServer({ listen: [{ port: 80, mode: 0o660 }] })
