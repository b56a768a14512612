# Calls the echo service with the grpc gem, and prints what came back as JSON: ruby client.rb ADDRESS
require 'grpc'
require 'json'

SERVICE = '/test.v1.EchoService/'
BYTES = ->(bytes) { bytes }

def varint(number)
  out = ''.b
  while number > 127
    out << (number & 127 | 128)
    number >>= 7
  end
  out << number
end

def request(text, count = 0)
  message = "\x0a".b + varint(text.bytesize) + text.b
  message += "\x10".b + varint(count) if count.positive?
  message
end

def read_varint(data, at)
  number = shift = 0
  loop do
    byte = data.getbyte(at)
    at += 1
    number |= (byte & 127) << shift
    shift += 7
    return [number, at] if byte < 128
  end
end

def response(data)
  text = ''
  index = at = 0
  while at < data.bytesize
    tag, at = read_varint(data, at)
    number, at = read_varint(data, at)
    if tag == 0x0a
      text = data.byteslice(at, number).force_encoding('utf-8')
      at += number
    else
      index = number
    end
  end
  [text, index]
end

def failure
  yield
  'the call succeeded'
rescue GRPC::BadStatus => e
  name = GRPC::Core::StatusCodes.constants.find { |one| GRPC::Core::StatusCodes.const_get(one) == e.code }
  details = e.metadata['grpc-status-details-bin'] || ''
  [name, e.details.dup.force_encoding('utf-8'), e.metadata['x-why'], details.b.include?('detail')]
end

gzip = GRPC::Core::CompressionOptions.new(default_algorithm: :gzip).to_channel_arg_hash
stub = GRPC::ClientStub.new(ARGV[0], :this_channel_is_insecure)
compressing = GRPC::ClientStub.new(ARGV[0], :this_channel_is_insecure, channel_args: gzip)
out = {}

metadata = { 'x-sent' => 'yes', 'x-data-bin' => "\x00\xff\x80".b }
call = stub.request_response("#{SERVICE}Say", request('hello'), BYTES, BYTES, return_op: true, metadata: metadata)
out['unary'] = response(call.execute)[0]
trailers = call.trailing_metadata
out['metadata'] = [call.metadata['x-head'], trailers['x-tail'], trailers['x-data-bin'].unpack1('H*')]
call = compressing.request_response("#{SERVICE}Say", request('x' * 5000), BYTES, BYTES, return_op: true)
out['gzip'] = [response(call.execute)[0].length, call.trailing_metadata['x-sent-in']]
out['stream'] = stub.server_streamer("#{SERVICE}Repeat", request('x', 300), BYTES, BYTES).map { |value| response(value)[1] }
texts = %w[a b c].map { |text| request(text) }
out['gathered'] = response(stub.client_streamer("#{SERVICE}Gather", texts, BYTES, BYTES))[0]

sent = Queue.new
talk = stub.bidi_streamer("#{SERVICE}Converse", Enumerator.new { |to| while (one = sent.pop) do to << one end }, BYTES, BYTES)
out['conversation'] = []
left = %w[b c]
sent << request('a')
talk.each do |value|
  out['conversation'] << response(value)[0]
  text = left.shift
  sent << (text && request(text))
end

say = ->(text, **options) { stub.request_response("#{SERVICE}Say", request(text), BYTES, BYTES, **options) }
out['failure'] = failure { say.call('fail') }
out['unknown'] = failure { say.call('break') }
seen = []
out['cut'] = failure { stub.server_streamer("#{SERVICE}Repeat", request('fail', 2), BYTES, BYTES).each { |one| seen << response(one)[1] } } + [seen]
out['deadline'] = failure { say.call('wait', deadline: Time.now + 0.3) }[0]
out['missing'] = failure { stub.request_response("#{SERVICE}Missing", ''.b, BYTES, BYTES) }[0]
puts JSON.generate(out)
