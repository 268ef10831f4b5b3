"""A few made-up lines of each trace, in the shape of the published files."""

ALIBABA_NODES = """\
sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,32000,262144,0,
openb-node-0001,96000,786432,8,V100M32
openb-node-0002,64000,262144,2,T4
"""
ALIBABA_PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0002,4000,15258,1,220,,BE,Running,1030,1150,1040
openb-pod-0001,88000,327680,8,1000,V100M16|V100M32,LS,Succeeded,1000,1300,1000
openb-pod-0003,16000,32768,0,0,,Burstable,Pending,1060,1100,
openb-pod-0004,1000,1024,1,500,T4,BE,Running,1090,,1090
"""
ALIBABA_PODS_WITHOUT_TIMES = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli
openb-pod-0002,4000,15258,1,220
openb-pod-0001,88000,327680,8,1000
"""
#: time (microseconds), machine ID, event type, platform ID, CPUs, Memory
GOOGLE_MACHINES = """\
0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493
0,6,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,1,1
700000000,6,1,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,1,1
"""
#: time, missing info, job ID, task index, machine ID, event type, user, class, priority, CPU, memory, disk, apart
GOOGLE_TASKS = """\
600000000,,70,0,,0,user=,3,9,0.125,0.0625,0.001,1
600000000,,70,1,,0,user=,3,9,0.125,0.0625,0.001,1
601000000,,70,0,5,1,user=,3,9,0.125,0.0625,0.001,1
602000000,,70,1,6,1,user=,3,9,0.125,0.0625,0.001,1
610000000,,70,1,6,2,user=,3,9,0.125,0.0625,0.001,1
610000000,,70,1,,0,user=,3,9,0.125,0.0625,0.001,1
620000000,,70,1,6,1,user=,3,9,0.125,0.0625,0.001,1
650000000,,70,1,6,4,user=,3,9,0.125,0.0625,0.001,1
9223372036854775807,,70,0,5,4,user=,3,9,0.125,0.0625,0.001,1
9223372036854775807,,72,0,,0,user=,3,9,0.125,0.0625,0.001,1
660000000,,71,0,,0,user=,0,0,,,,0
661000000,,71,0,5,1,user=,0,0,,,,0
671500000,,71,0,5,5,user=,0,0,,,,0
"""
#: vmid, subscriptionid, deploymentid, vmcreated, vmdeleted, maxcpu, avgcpu, p95maxcpu, vmcategory, cores, memory (GB)
AZURE_MACHINES = """\
a/b+c=,sub,dep,0,2591700,99.3,3.4,10.1,Delay-insensitive,8,32
d/e+f=,sub,dep,300,900,80.0,1.0,9.0,Interactive,>24,>64
g/h+i=,sub,dep,600,1200,80.0,1.0,9.0,Unknown,2,4
"""
JOBS = """\
id,submitted,duration,cores,mem_gb,team,disk
1,0,2,2,4,web,ssd
2,1,,1,1,,
"""
HOSTS = "host,cores,mem_gb\nh1,4,8\nh2,8,16\n"
MAPPING = """\
apiVersion: schedlab.dev/v1alpha1
kind: TraceMapping
timeUnit: 60
pods:
  name: job-{id}
  at: "{submitted}"
  runTime: "{duration}"
  requests: {cpu: "{cores}", memory: "{mem_gb}Gi"}
  labels: {team: "{team}", from: trace}
  nodeSelector: {disk: "{disk}"}
nodes:
  name: "{host}"
  amounts: {cpu: "{cores}", memory: "{mem_gb}Gi"}
  labels: {disk: ssd}
"""
