// All targets, by name.

import type { Target } from './target.ts'
import { cookieTarget } from './targets/cookie.ts'
import { forwardedTarget } from './targets/forwarded.ts'
import { hpackTarget } from './targets/hpack.ts'
import { http2ConnectionTarget } from './targets/http2-connection.ts'
import { http2FramesTarget } from './targets/http2-frames.ts'
import { http2HeadTarget } from './targets/http2-head.ts'
import { inflateTarget } from './targets/inflate.ts'
import { mediaTypeTarget } from './targets/media-type.ts'
import { multipartTarget } from './targets/multipart.ts'
import { partHeadTarget } from './targets/part-head.ts'
import { proxyProtocolTarget } from './targets/proxy-protocol.ts'
import { rangeTarget } from './targets/range.ts'
import { requestTargetTarget } from './targets/request-target.ts'
import { serverTarget } from './targets/server.ts'
import { urlencodedTarget } from './targets/urlencoded.ts'
import { websocketTarget } from './targets/websocket.ts'
import { chunkedTarget, chunksTarget, headTarget } from './targets/wire.ts'

export const TARGETS: readonly Target[] = [
  headTarget,
  http2HeadTarget,
  http2FramesTarget,
  http2ConnectionTarget,
  hpackTarget,
  chunkedTarget,
  chunksTarget,
  multipartTarget,
  urlencodedTarget,
  cookieTarget,
  rangeTarget,
  requestTargetTarget,
  mediaTypeTarget,
  partHeadTarget,
  forwardedTarget,
  proxyProtocolTarget,
  websocketTarget,
  inflateTarget,
  serverTarget,
]
