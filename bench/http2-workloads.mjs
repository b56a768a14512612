// What http2.mjs measures: the requests of each workload, and the only right response to each.
import { FILES } from './site.mjs'

export const ECHO_PATH = '/echo'
export const LARGE_PATH = '/large'
export const UPLOAD_PATH = '/upload'
export const SITE_ENCODINGS = 'br;q=1, gzip;q=0.8'

/** 1 KiB of JSON, made anew for every request. */
export function document() {
  const items = []
  for (let id = 1; id <= 9; id++)
    items.push({ id, name: `item number ${id}`, price: id * 1.25, tags: ['new', 'small'], rating: { score: 42, count: id } })
  return { items, count: items.length }
}

export const MEBIBYTE = Buffer.alloc(2 ** 20, 'All work and no play. ')
/** 64 of these are a response of 64 MiB, 1024 one of 1 GiB. */
export const LARGE_UNIT = MEBIBYTE

const get = (path, body) => ({ method: 'GET', path, body: Buffer.from(body) })
const echo = (bytes) => {
  const body = Buffer.alloc(bytes, 'echo ')
  return { method: 'POST', path: ECHO_PATH, sends: body, body }
}

/** `app` is what a server needs for it: fixed responses, those that are made, or the files of a page. */
export const WORKLOADS = [
  { id: 'hello', title: '`OK`', connections: 16, streams: 32, app: 'fixed', exchanges: [get('/hello', 'OK')] },
  { id: 'hello-1', title: '`OK`, one stream', connections: 64, streams: 1, app: 'fixed', exchanges: [get('/hello', 'OK')] },
  {
    id: 'json',
    title: '1 KiB of JSON made each time',
    connections: 16,
    streams: 32,
    app: 'made',
    exchanges: [get('/json', JSON.stringify(document()))],
  },
  { id: 'echo-1k', title: 'POST of 1 KiB echoed', connections: 16, streams: 32, app: 'made', exchanges: [echo(1024)] },
  { id: 'echo-64k', title: 'POST of 64 KiB echoed', connections: 16, streams: 32, app: 'made', exchanges: [echo(64 * 1024)] },
  { id: 'mib', title: 'responses of 1 MiB', connections: 16, streams: 4, app: 'fixed', exchanges: [get('/mib', MEBIBYTE)] },
  {
    id: 'page',
    title: `${FILES.length} files of a page in turn, precompressed`,
    connections: 16,
    streams: 32,
    app: 'files',
    exchanges: FILES.map(({ name, bytes }) => ({ ...get(`/${name}`, bytes), fields: { 'accept-encoding': SITE_ENCODINGS } })),
  },
]
