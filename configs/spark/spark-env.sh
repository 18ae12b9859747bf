# Read by the classes of the cluster when they start:
#
#   spark-class org.apache.spark.deploy.master.Master                     on one machine
#   spark-class org.apache.spark.deploy.worker.Worker spark://HOST:7077   on each
#
# `spark-class` comes with pyspark: bin/ of the installed package.

# Nothing is authenticated by default: listen where only the cluster can reach.
: "${SPARK_LOCAL_IP:=127.0.0.1}"
export SPARK_LOCAL_IP
