// The profiles of HttpArena that the entry serves. The board gives a server 64 hardware threads; a process here gets a 64th of the board's
// connections and of its fixed rates.
import { FILES } from './place.mjs'

const THREADS = 64
const HOST = 'Host: localhost:8080\r\n'
const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\n${HOST}${fields}\r\n`
const post = (path, fields, body) => `POST ${path} HTTP/1.1\r\n${HOST}${fields}\r\n${body}`

const SUM = '/baseline11?a=13&b=42'
const BASELINE = [get(SUM), post(SUM, 'Content-Length: 2\r\n', '20'), post(SUM, 'Transfer-Encoding: chunked\r\n', '2\r\n20\r\n0\r\n\r\n')]
const PAIRS = ['1?m=3', '5?m=7', '10?m=2', '15?m=5', '25?m=4', '40?m=8', '50?m=6'].map((pair) => `/json/${pair}`)
const ACCEPTED = 'br;q=1, gzip;q=0.8'
const ECHO_BYTES = 10_240
const ECHO = post('/echo', `Content-Type: application/octet-stream\r\nContent-Length: ${ECHO_BYTES}\r\n`, 'x'.repeat(ECHO_BYTES))

/**
 * `board` is the load in the board's own figures. `tool` sends it here: wrk sends `requests` in turn, h2load the `paths`, and the generator
 * whatever `load` says.
 */
export const PROFILES = [
  { id: 'baseline', board: '4,096 connections', tool: 'wrk', connections: 4096 / THREADS, requests: BASELINE },
  {
    ...{ id: 'pipelined', board: '4,096 connections × 16', tool: 'wrk', connections: 4096 / THREADS, isReference: true },
    requests: [get('/pipeline').repeat(16)],
  },
  {
    ...{ id: 'limited-conn', board: '4,096 connections, 10 requests each', tool: 'generator' },
    load: { load: 'limited', connections: 4096 / THREADS, perConnection: 10, requests: BASELINE },
  },
  {
    ...{ id: 'latency-1m', board: '1,000,000 requests/s on 1,024 connections', tool: 'generator' },
    load: { load: 'paced', rate: 1e6 / THREADS, connections: 1024 / THREADS, request: get('/baseline11?a=1&b=2') },
  },
  {
    ...{ id: 'latency-10k', board: '10,000 requests/s on 1,024 connections', tool: 'generator', longer: 2 },
    load: { load: 'paced', rate: 1e4 / THREADS, connections: 1024 / THREADS, request: get('/baseline11?a=1&b=2') },
  },
  { id: 'async', board: '32,000 connections, 10 ms', tool: 'wrk', connections: 32_000 / THREADS, requests: [get('/delay/10')] },
  {
    ...{ id: 'json-comp', board: '4,096 connections', tool: 'wrk', connections: 4096 / THREADS },
    requests: ['25?m=4', '40?m=8', '50?m=6'].map((pair) => get(`/json/${pair}`, 'Accept-Encoding: gzip, br\r\n')),
  },
  {
    ...{ id: 'json-tls', board: '4,096 connections, TLS', tool: 'wrk', isSecure: true, longer: 2 },
    ...{ connections: 4096 / THREADS, requests: PAIRS.map((path) => get(path)) },
  },
  {
    ...{ id: '8gbit', board: '50,000 requests/s of 10 KB each way on 512 connections, TLS', tool: 'generator' },
    load: { load: 'paced', isSecure: true, rate: 50_000 / THREADS, connections: 512 / THREADS, request: ECHO },
  },
  {
    ...{ id: 'static-tls', board: '1,024 connections, TLS', tool: 'wrk', isSecure: true, longer: 2, connections: 1024 / THREADS },
    requests: FILES.map(({ name }) => get(`/static/${name}`, `Accept-Encoding: ${ACCEPTED}\r\n`)),
  },
  {
    ...{ id: 'async-db', board: '1,024 connections', tool: 'wrk', connections: 1024 / THREADS, needs: 'database', isReference: true },
    requests: [5, 10, 20, 35, 50].map((limit) => get(`/async-db?min=10&max=50&limit=${limit}`)),
  },
  {
    ...{ id: 'fortunes', board: '1,024 connections', tool: 'wrk', connections: 1024 / THREADS, needs: 'database', isReference: true },
    requests: [get('/fortunes')],
  },
  {
    ...{ id: 'baseline-h2', board: '1,024 connections × 100 streams, TLS', tool: 'h2load', isSecure: true, needs: 'http2' },
    ...{ connections: 1024 / THREADS, streams: 100, paths: ['/baseline2?a=1&b=1'] },
  },
  {
    ...{ id: 'static-h2', board: '1,024 connections × 32 streams, TLS', tool: 'h2load', isSecure: true, needs: 'http2', longer: 2 },
    ...{ connections: 1024 / THREADS, streams: 32, paths: FILES.map(({ name }) => `/static/${name}`), accepted: ACCEPTED },
  },
  {
    ...{ id: 'baseline-h2c', board: '4,096 connections × 100 streams', tool: 'h2load', needs: 'http2' },
    ...{ connections: 4096 / THREADS, streams: 100, paths: ['/baseline2?a=1&b=1'] },
  },
  {
    ...{ id: 'json-h2c', board: '4,096 connections × 32 streams', tool: 'h2load', needs: 'http2' },
    ...{ connections: 4096 / THREADS, streams: 32, paths: PAIRS },
  },
  {
    ...{ id: 'echo-ws', board: '16,384 connections', tool: 'generator' },
    load: { load: 'websocket', connections: 16_384 / THREADS, depth: 1 },
  },
  {
    ...{ id: 'echo-ws-pipeline', board: '16,384 connections × 16 messages', tool: 'generator' },
    load: { load: 'websocket', connections: 16_384 / THREADS, depth: 16 },
  },
  {
    ...{ id: 'echo-ws-limited', board: '4,096 connections, 10 messages each', tool: 'generator' },
    load: { load: 'websocket', connections: 4096 / THREADS, depth: 1, perConnection: 10 },
  },
]
